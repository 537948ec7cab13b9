"""Many settings, or many releases, side by side: what each risks and loses, and which to take by a stated rule."""
