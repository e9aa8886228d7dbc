"""Histories of clusters: recording one, making a scenario of it, and comparing the lives of pods in two."""
