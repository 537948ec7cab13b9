"""Rules, populations and losses brought to the classes of a table: what one transformation suppresses and loses."""
