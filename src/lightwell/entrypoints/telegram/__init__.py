"""Telegram, by aiogram."""
