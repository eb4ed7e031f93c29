/** Every word on the page, in German. */
import type { Words } from './en';

export const de: Words = {
  name: 'Lightwell',
  rail: {
    label: 'Hauptmenü',
    ask: 'Fragen',
    documents: 'Dokumente',
    map: 'Karte',
    review: 'Prüfen',
    setup: 'Einrichten',
    account: 'Ihr Konto',
  },
  common: {
    cancel: 'Abbrechen',
    close: 'Schließen',
    save: 'Speichern',
    retry: 'Noch einmal',
    undo: 'Rückgängig',
    more: 'Mehr zeigen',
    copy: 'Kopieren',
    copied: 'Kopiert',
    search: 'Suchen',
    loading: 'Lädt …',
    nothing: 'Hier ist noch nichts',
    skip: 'Zum Inhalt',
  },
  problem: {
    title: 'Das ging nicht',
    unreachable: 'Der Server ist nicht erreichbar. Prüfen Sie die Verbindung und versuchen Sie es noch einmal.',
    unknown: (status: number) =>
      `Der Server meldet den Fehler ${status}. Versuchen Sie es noch einmal; bleibt es dabei, sagen Sie es dem Betreiber.`,
    notFound: 'Das gibt es nicht, oder Sie dürfen es nicht sehen.',
    noPage: 'Diese Seite gibt es nicht.',
  },
  ended: {
    title: 'Sie sind abgemeldet',
    text: 'Ihre Sitzung ist zu Ende. Was Sie geschrieben haben, steht noch hier: Melden Sie sich in einem neuen Tab an und kommen Sie zurück.',
    signIn: 'Anmelden',
    resume: 'Ich bin angemeldet',
  },
  account: {
    theme: 'Aussehen',
    themes: { system: 'Wie das System', light: 'Hell', dark: 'Dunkel' },
    language: 'Sprache',
    signOut: 'Abmelden',
    signOutEverywhere: 'Überall abmelden',
    keys: 'Tasten',
  },
  keys: {
    title: 'Tasten',
    ask: 'Eine Frage stellen',
    close: 'Schließen, was offen ist',
    goAsk: 'Zu Fragen',
    goDocuments: 'Zu Dokumente',
    goMap: 'Zur Karte',
    goReview: 'Zu Prüfen',
    show: 'Alle Tasten zeigen',
  },
  setup: {
    groups: { people: 'Menschen', documents: 'Dokumente', answers: 'Antworten', server: 'Server' },
    parts: {
      models: 'Modelle',
    },
  },
};
