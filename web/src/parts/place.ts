/** Put what floats beside what it belongs to: below it, or above where there is more room, and within the window. */
export function placeBeside(floating: HTMLElement, anchor: Element, gap = 6): void {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = floating;
  const hasRoomBelow = at.bottom + gap + height <= innerHeight - gap;
  const top = hasRoomBelow ? at.bottom + gap : Math.max(gap, at.top - gap - height);
  const left = Math.max(gap, Math.min(at.left, innerWidth - width - gap));
  floating.style.top = `${top}px`;
  floating.style.left = `${left}px`;
}
