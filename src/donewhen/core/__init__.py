"""The pure core: decides, never acts. No os, subprocess, time, random, logging or open() here."""
