/** Unusual names, dates, numbers and sizes in a match of many members. */
import { describe, expect, it } from '@jest/globals'
import { structureIssuesOf } from '../../../lambdas/interactions/validation/structure-findings.ts'
import { bulkInputOf } from '../../../lambdas/partners/bulk/bulk-input.ts'
import type { MatchContext } from '../../../lambdas/partners/bulk/match-request.ts'
import { issuesOf, outcomesOf } from '../../../lambdas/partners/bulk/member-outcomes.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { coverageOf, memberNumber, memberStoreOf } from '../member-store.ts'
import { ANN, bulkInput, OTHER, OWN } from '../payer-exchange.ts'

const CONTEXT: MatchContext = {
  ...{ kind: 'payer', identifiers: [OTHER], members: 1, partner: 'partner', now: Date.parse('2026-06-01T12:00:00Z') },
  settings: {
    ...{ payer: [OWN], organizationName: '', sensitiveLabels: 'none', longest: 86_400_000, reportOptOut: false, treatment: 'attested' },
  },
}

type Person = {
  readonly family?: string
  readonly given?: string
  readonly birthDate?: string
  readonly number?: string
  readonly more?: Tree
}

const fieldsOf = ({ family = 'Person', given, birthDate = '1974-12-25' }: Person): Tree => ({
  ...{ birthDate, gender: 'female', name: [{ family, ...(given === undefined ? {} : { given: [given] }) }] },
})

/** Returns the outcome of a sent member and the places of its issues, beside another member that is found. */
async function outcome(stored: Person, sent: Person): Promise<readonly unknown[]> {
  const body = bulkInput([{ member: ANN }, { member: ANN }])
  for (const [i, each] of [stored, sent].entries()) {
    const [member, coverage] = body.parameter[i].part
    Object.assign(member.resource, fieldsOf(each), each.more)
    coverage.resource.identifier = [memberNumber(each.number ?? 'N1')]
  }
  const data = await memberStoreOf([
    patient('p', fieldsOf(stored)),
    coverageOf('c', 'p', { identifier: [memberNumber(stored.number ?? 'N1')] }),
  ])
  const members = await bulkInputOf(JSON.parse(JSON.stringify(body)), { structureIssuesOf, limit: 2, pause: () => undefined })
  const [control, found] = await outcomesOf(data, members, CONTEXT)
  expect([control!.kind, issuesOf(members[0]!, 0)]).toEqual(['match', []])
  return [found!.kind, ...issuesOf(members[1]!, 1).map(({ expression }) => expression)]
}

const ann = (family: string): Person => ({ family, given: 'Ann' })

describe('a member in a match of many', () => {
  it.each<[what: string, stored: Person, sent: Person]>([
    ['a name of 10,000 characters', ann('x'.repeat(10_000)), ann('X'.repeat(10_000))],
    ['an Arabic name', { family: 'الحسن', given: 'محمد' }, { family: 'الحسن', given: 'مُحَمَّد' }],
    ['a Han name', { family: '王', given: '小明' }, { family: '王', given: '小明' }],
    ['combining marks', ann('Muñoz'), ann('Mun\u0303oz')],
    ['an apostrophe', ann("O'Brien"), ann('O’BRIEN')],
    ['a hyphen', { given: 'Mary-Ann' }, { given: 'Mary Ann' }],
    ['the first of two given names', { given: 'Mary-Ann' }, { given: 'Mary' }],
    ['blanks in its number', { given: 'Ann', number: '00 12' }, { given: 'Ann', number: '00 12' }],
    ['dots in its number', { given: 'Ann', number: '1.2' }, { given: 'Ann', number: '1.2' }],
    ['leading zeros in its number', { given: 'Ann', number: '007' }, { given: 'Ann', number: '007' }],
    ['1 MB of data', { given: 'Ann' }, { given: 'Ann', more: { photo: [{ contentType: 'image/png', data: 'QUJD'.repeat(250_000) }] } }],
    ['6 MB of data', { given: 'Ann' }, { given: 'Ann', more: { photo: [{ contentType: 'image/png', data: 'QUJD'.repeat(1_500_000) }] } }],
  ])('is found with %s', async (_, stored, sent) => {
    expect(await outcome(stored, sent)).toEqual(['match'])
  })

  it.each<[what: string, stored: Person, sent: Person, ...places: string[]]>([
    ['a longer name', ann('x'.repeat(10_000)), ann('x'.repeat(10_001))],
    ['another Han name', { family: '王', given: '小明' }, { family: '王', given: '小红' }],
    ['another second given name', { given: 'Mary-Ann' }, { given: 'Mary-Beth' }],
    ['a number without its blanks', { given: 'Ann', number: '00 12' }, { given: 'Ann', number: '0012' }],
    ['a number without its dots', { given: 'Ann', number: '1.2' }, { given: 'Ann', number: '12' }],
    ['a number without its leading zeros', { given: 'Ann', number: '007' }, { given: 'Ann', number: '7' }],
    ['a name without letters', { given: 'Ann' }, { family: '-- !', given: 'Ann' }, 'MemberBundle[1].MemberPatient.name'],
    ['a given name without letters', { given: 'Ann' }, { given: '...' }, 'MemberBundle[1].MemberPatient.name'],
    ['a family only', { given: 'Ann' }, {}, 'MemberBundle[1].MemberPatient.name'],
    ['a month of birth', { given: 'Ann' }, { given: 'Ann', birthDate: '1974-12' }, 'MemberBundle[1].MemberPatient.birthDate'],
  ])('is not found with %s', async (_, stored, sent, ...places) => {
    expect(await outcome(stored, sent)).toEqual(['nomatch', ...places])
  })
})
