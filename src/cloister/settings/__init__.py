"""How settings are declared once, as fields of frozen records, and what front ends make of the declarations."""
