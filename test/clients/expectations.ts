/** Requests and expectations of the steps of clients in JavaScript. */
import { randomUUID } from 'node:crypto'
import type { Tree } from '../fixtures/resources.ts'

export const SYSTEM = 'http://example.org/clients'

/** Returns the Patient of a step. `name`: client. `key`: step. */
export const person = (name: string, key: string, more: Tree = {}): Tree => ({
  resourceType: 'Patient',
  identifier: [{ system: SYSTEM, value: `${name}-${key}` }],
  name: [{ family: `${name}-${key}` }],
  ...more,
})

export const criterion = (name: string, key: string): string => `identifier=${SYSTEM}|${name}-${key}`

/** Returns a transaction that creates a Patient and an Observation about it. */
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

/** Returns `Type/id` of the created resources. */
export const createdKeysOf = (answer: Tree): readonly string[] =>
  answer.entry.map(({ response }: Tree) => new URL(response.location, 'http://x/fhir/').pathname.split('/').slice(-4, -2).join('/'))

export function expectSame(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)]
  if (one !== other) throw new Error(`Found ${one} instead of ${other}`)
}

/** Returns the status of a rejected request. `says`: reads it from the error of the client. */
export async function rejectionStatusOf(request: Promise<unknown>, says: (error: Tree) => unknown): Promise<unknown> {
  return request.then(
    () => 'not rejected',
    (error) => says(error),
  )
}
