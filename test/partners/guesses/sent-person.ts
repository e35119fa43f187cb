/** Persons as a partner sends them. */
import type { SentPerson } from '../../../lambdas/partners/match/match-rules.ts'
import { sentPersonOf } from '../../../lambdas/partners/match/member-input.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { coverageOf, memberNumber } from '../member-store.ts'

/** Returns Ann Person with a card. `fields`: elements that replace those of the Patient. `coverage`: elements of the Coverage. */
export function sentPerson(card: string, fields: Tree = {}, coverage: Tree = { identifier: [memberNumber(card)] }): SentPerson {
  const patient: Tree = {
    ...{ resourceType: 'Patient', name: [{ family: 'Person', given: ['Ann'] }], birthDate: '1974-12-25', gender: 'female' },
    ...fields,
  }
  const place = 'Parameters.parameter[0]'
  return sentPersonOf({
    patient: { resource: patient as SentResource, place },
    coverage: { resource: coverageOf('sent', 'sent', coverage) as SentResource, place },
  }).person
}

type SentResource = Parameters<typeof sentPersonOf>[0]['patient']['resource']

export const named = (given: string, family = 'Person'): Tree => ({ name: [{ family, given: [given] }] })
