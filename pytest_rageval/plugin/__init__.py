"""The thin layer that knows pytest; everything it decides is asked of the layers below."""
