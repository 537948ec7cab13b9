"""Rules, populations and losses brought to the classes of a table: what one policy suppresses and loses."""
