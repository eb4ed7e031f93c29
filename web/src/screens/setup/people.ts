/** The people of the directory, for lists of choices and to name who did something. */
import { api, result, type Schemas } from '../../api';

export type Person = Schemas['Person'];

const MOST = 1000;

export async function listPeople(): Promise<Person[]> {
  const { people } = await result(api.GET('/v1/admin/people', { params: { query: { limit: MOST } } }));
  return people.sort((one, other) => nameOf(one).localeCompare(nameOf(other)));
}

export function nameOf(person: Person): string {
  return person.displayName || person.email || person.personId;
}
