/** Short messages about what was just done; an undo stands beside them. */

interface Toast {
  text: string;
  undo?: () => void;
}

const SECONDS = 6;

class Toasts {
  /** How many dialogs are open: the last one shows the messages, since those of the page lie below it. */
  dialogs = $state(0);
  shown = $state<Toast[]>([]);

  show(text: string, undo?: () => void): void {
    const toast: Toast = undo ? { text, undo } : { text };
    this.shown.push(toast);
    setTimeout(() => this.hide(toast), SECONDS * 1000);
  }

  hide(toast: Toast): void {
    this.shown = this.shown.filter((other) => other.text !== toast.text || other.undo !== toast.undo);
  }
}

export const toasts = new Toasts();
