/** Every word on the page, in English; `de.ts` has the same in German. One section a screen. */
export const en = {
  name: 'Lightwell',
  rail: {
    label: 'Main',
    ask: 'Ask',
    documents: 'Documents',
    map: 'Map',
    review: 'Review',
    setup: 'Set up',
    account: 'Your account',
  },
  common: {
    cancel: 'Cancel',
    close: 'Close',
    save: 'Save',
    retry: 'Try again',
    undo: 'Undo',
    more: 'Show more',
    copy: 'Copy',
    copied: 'Copied',
    search: 'Search',
    loading: 'Loading …',
    nothing: 'Nothing here yet',
    skip: 'To the content',
  },
  problem: {
    title: 'That did not work',
    unreachable: 'The server cannot be reached. Check your connection, then try again.',
    unknown: (status: number) =>
      `The server answered with error ${status}. Try again; if it stays, tell whoever runs it.`,
    notFound: 'This does not exist, or you may not see it.',
    noPage: 'There is no such page.',
  },
  ended: {
    title: 'You are signed out',
    text: 'Your session has ended. What you wrote is still here: sign in again in a new tab, then come back.',
    signIn: 'Sign in',
    resume: 'I have signed in',
  },
  account: {
    theme: 'Appearance',
    themes: { system: 'As the system', light: 'Light', dark: 'Dark' },
    language: 'Language',
    signOut: 'Sign out',
    signOutEverywhere: 'Sign out everywhere',
    keys: 'Keys',
  },
  keys: {
    title: 'Keys',
    ask: 'Ask a question',
    close: 'Close what is open',
    goAsk: 'Go to Ask',
    goDocuments: 'Go to Documents',
    goMap: 'Go to Map',
    goReview: 'Go to Review',
    show: 'Show all keys',
  },
  setup: {
    groups: { people: 'People', documents: 'Documents', answers: 'Answers', server: 'Server' },
    parts: {
      models: 'Models',
    },
  },
};

export type Words = typeof en;
