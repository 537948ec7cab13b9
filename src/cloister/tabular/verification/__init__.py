"""Parts of the verifier: what is promised, and each rule recomputed from its definition."""
