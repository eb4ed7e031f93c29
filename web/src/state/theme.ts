/** Whether the page is light or dark: as the system says, unless a person chose. */
export const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const KEY = 'lightwell.theme';

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return themes.find((theme) => theme === stored) ?? 'system';
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosenTheme();
}
