/** Binaries that say they belong to one another. https://hl7.org/fhir/R4/binary.html#security-context */
import { expect, it } from '@jest/globals'
import type { Access } from '../../lambdas/access/access.ts'
import { type Judge, maySee, mayWrite } from '../../lambdas/access/judge.ts'
import type { ResourceVersion } from '../../lambdas/ports/store/resource-store.ts'

const PATIENT: Access = {
  ...{ clauses: [{ type: '*', letters: ['c', 'r', 'u', 'd', 's'], query: '', within: ['Patient/a'] }] },
  ...{ isAdministrator: false, context: 'patient' },
}

const belongingTo = (id: string, reference: string): ResourceVersion => ({
  ...{ tenant: 'north', type: 'Binary', id, versionId: 1, lastUpdated: 0, deleted: false, compartments: [] },
  body: new TextEncoder().encode(JSON.stringify({ resourceType: 'Binary', id, securityContext: { reference } })),
})

it('a circle of security contexts grants no access, and is not followed', async () => {
  const [one, two] = [belongingTo('one', 'Binary/two'), belongingTo('two', 'Binary/one')]
  const asked: string[] = []
  const judge: Judge = {
    ...{ access: PATIENT, reading: {} },
    expressions: () => {
      throw new Error('no expression is needed')
    },
    current: async ({ id }) => {
      asked.push(id)
      return asked.length > 9 ? undefined : id === 'one' ? one : two
    },
  }
  expect([await maySee(judge, 'r', one), await mayWrite(judge, 'u', two)]).toEqual([false, false])
  expect(asked).toEqual([])
})
