"""What recipients do with a release, without the original: bounds of counts, estimates over reconstructions."""
