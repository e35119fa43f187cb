/** What steps of clients in JavaScript send and expect. */
import { randomUUID } from 'node:crypto'
import type { Tree } from '../fixtures/resources.ts'

export const SYSTEM = 'http://example.org/clients'

/** Of a client `name`, for its step `key`. */
export const person = (name: string, key: string, more: Tree = {}): Tree => ({
  resourceType: 'Patient',
  identifier: [{ system: SYSTEM, value: `${name}-${key}` }],
  name: [{ family: `${name}-${key}` }],
  ...more,
})

export const criterion = (name: string, key: string): string => `identifier=${SYSTEM}|${name}-${key}`

/** A patient, and an observation about it. */
export function transactionOf(name: string): Tree {
  const [patient, observation] = [randomUUID(), randomUUID()].map((id) => `urn:uuid:${id}`)
  const about = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: patient } }
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { fullUrl: patient, resource: person(name, 'transaction'), request: { method: 'POST', url: 'Patient' } },
      { fullUrl: observation, resource: about, request: { method: 'POST', url: 'Observation' } },
    ],
  }
}

/** `Type/id` of what the entries made. */
export const createdKeysOf = (answer: Tree): readonly string[] =>
  answer.entry.map(({ response }: Tree) => new URL(response.location, 'http://x/fhir/').pathname.split('/').slice(-4, -2).join('/'))

export function expectSame(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)]
  if (one !== other) throw new Error(`${one} in the place of ${other}`)
}

/** The status a client says it was refused with. */
export async function rejectionStatusOf(request: Promise<unknown>, says: (error: Tree) => unknown): Promise<unknown> {
  return request.then(
    () => 'not refused',
    (error) => says(error),
  )
}
