"""Job files: several sources, several protections, one folder of parts that cannot be joined."""
