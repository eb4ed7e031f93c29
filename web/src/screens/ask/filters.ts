/** What a question is restricted to; the keys are those of the request. */
export interface Filters {
  system?: string;
  type?: string;
  since?: string;
  until?: string;
}
