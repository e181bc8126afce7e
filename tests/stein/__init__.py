"""Tests of Stein features: bases, operators, moments and witnesses."""
