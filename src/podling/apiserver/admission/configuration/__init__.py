"""``AdmissionConfiguration``: the types, their validation, and the file that ``podling up`` takes."""
