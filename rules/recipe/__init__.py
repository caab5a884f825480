"""Recipes and engine settings: does the tool take them, does the engine know them, can they work together?"""
