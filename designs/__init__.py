"""Number formats, the record that describes a unit, and the catalogue of published units."""
