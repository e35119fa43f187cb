/** Generated members and requests: twins, maiden names, replaced Patients and duplicate records. Both matchers must find the same. */
import { expect } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { findMember, findMembers, type MemberMatch } from '../../../lambdas/partners/match/find-member.ts'
import type { SentPerson } from '../../../lambdas/partners/match/match-rules.ts'
import { memberInputOf } from '../../../lambdas/partners/match/member-input.ts'
import type { MemberData } from '../../../lambdas/partners/member-data.ts'
import type { Random } from '../../contracts/generated-search.ts'
import { patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'
import { coverageOf, matchRequestOf, memberNumber } from '../member-store.ts'
import { matchSlowly } from './second-matcher.ts'

const FAMILIES = ["O'Brien", 'OBRIEN', 'Müller', 'Muller', 'Nuñez', 'Smith Jones', 'Smith-Jones', '王', 'حسن', 'حَسَن', 'Lee'] as const
const GIVEN = ['Mary', 'Mary-Ann', 'Mary Ann', 'MARYANN', 'Mary Beth', 'José', 'Jose\u0301', 'JOSE', '小明', 'فاطمة', 'Ann', 'Kim'] as const
const DATES = ['1974-12-25', '1974-12-24', '1990-01-01', '1974-12'] as const
const GENDERS = ['female', 'male', undefined] as const
const SYSTEMS = ['http://a', 'http://b'] as const

/** True in one of `n` cases. */
const rarely = (random: Random, n: number): boolean => random.below(n) === 0

function nameOf(random: Random): Tree {
  return { family: random.pick(FAMILIES), given: Array.from({ length: 1 + random.below(2) }, () => random.pick(GIVEN)) }
}

function personOf(random: Random): Tree {
  const gender = random.pick(GENDERS)
  return {
    name: Array.from({ length: 1 + random.below(2) }, () => nameOf(random)),
    birthDate: random.pick(DATES),
    ...(gender === undefined ? {} : { gender }),
  }
}

/** Returns one of few card numbers, so that families share cards. Leading zeros and case differ. */
const numberOf = (random: Random, members: number): string => random.pick(['', '0', 'n', 'N']) + random.below(Math.ceil(members / 4))

function cardOf(random: Random, members: number): Tree {
  const subscriberId = numberOf(random, members)
  return {
    ...(rarely(random, 3) ? {} : { identifier: [memberNumber(numberOf(random, members), random.pick(SYSTEMS))] }),
    ...(rarely(random, 3) ? {} : { subscriberId }),
    ...(rarely(random, 2) ? {} : { dependent: random.pick(['01', '02']) }),
  }
}

/** Returns Patients to store, each with one or two Coverages. */
function membersOf(random: Random, count: number): readonly Tree[] {
  return Array.from({ length: count }, (_, i) => {
    const person = personOf(random)
    const own = patient(`p${i}`, {
      ...person,
      ...(rarely(random, 8) ? { active: false } : {}),
      ...(rarely(random, 8) ? { identifier: [memberNumber(numberOf(random, count), random.pick(SYSTEMS))] } : {}),
      ...(rarely(random, 6) ? { link: [{ type: 'replaced-by', other: referenceTo(`Patient/p${random.below(count)}`) }] } : {}),
    })
    const coverages = Array.from({ length: 1 + random.below(2) }, (_, n) => {
      const status = rarely(random, 8) ? 'entered-in-error' : 'active'
      return coverageOf(`c${i}-${n}`, `p${i}`, { status, ...cardOf(random, count) })
    })
    // A duplicate record, or a twin, has another id.
    const twin = rarely(random, 2) ? [{ ...own, id: `t${i}`, ...(rarely(random, 2) ? {} : { name: [nameOf(random)] }) }] : []
    return [
      own,
      ...coverages,
      ...twin,
      ...twin.map(({ id }) => ({ ...coverages[0]!, id: `d${i}`, beneficiary: referenceTo(`Patient/${id}`) })),
    ]
  }).flat()
}

/** Returns a request for a stored member, changed or not, or for anyone. */
function requestOf(random: Random, stored: readonly Tree[], members: number): { readonly sent: Tree; readonly card: Tree } {
  const coverages = stored.filter(({ resourceType }) => resourceType === 'Coverage')
  const { resourceType, id, beneficiary, status, payor, ...card } = random.pick(coverages)
  const own = stored.find((each) => each.resourceType === 'Patient' && `Patient/${each.id}` === beneficiary.reference)!
  const other = personOf(random)
  const sent: Tree = {
    ...own,
    id: 'sent',
    link: undefined,
    active: undefined,
    birthDate: own.birthDate.length < 10 || rarely(random, 10) ? '1974-12-25' : own.birthDate,
    gender: own.gender ?? other.gender ?? 'female',
    ...(rarely(random, 4) ? { name: other.name } : {}),
  }
  const number = { ...(rarely(random, 6) ? cardOf(random, members) : card) }
  if (number.identifier === undefined && number.subscriberId === undefined) number.subscriberId = numberOf(random, members)
  if (rarely(random, 6) && number.identifier !== undefined)
    number.identifier = number.identifier.map((each: Tree) => ({ ...each, system: undefined }))
  return JSON.parse(JSON.stringify({ sent, card: number }))
}

/** Returns the id of the member, `none`, or all ids of several. */
const textOf = (found: MemberMatch): string =>
  found.kind === 'match' ? found.patient.id! : found.kind === 'none' ? 'none' : found.ids.join(' ')

/** `members`: number of stored members. `requests`: number of requests for one member. */
type Amounts = { readonly members: number; readonly requests: number }

/**
 * Expects that the matcher finds the same as the second one, for members alone and together. `open`: stores resources, and returns the reads
 * of the matcher.
 */
export async function expectSameMembers(
  { members, requests }: Amounts,
  open: (stored: readonly Tree[]) => Promise<MemberData>,
): Promise<void> {
  const random = createPrintedRandom('members to match')
  const stored = JSON.parse(JSON.stringify(membersOf(random, members))) as readonly Tree[]
  const data = await open(stored)
  const outcomes = { match: 0, none: 0, several: 0 }
  const persons: SentPerson[] = []
  const alone: string[] = []
  for (let i = 0; i < requests; i++) {
    const { sent, card } = requestOf(random, stored, members)
    const body = matchRequestOf({ MemberPatient: sent, CoverageToMatch: coverageOf('sent', 'sent', card) })
    const { person } = await memberInputOf(body, { needsConsent: false, structureIssuesOf: (resource) => validate(resource) })
    const found = await findMember(data, person)
    outcomes[found.kind]++
    const text = textOf(found)
    persons.push(person)
    alone.push(text)
    expect([i, sent, card, text]).toEqual([i, sent, card, matchSlowly(stored, sent, card)])
  }
  for (const times of Object.values(outcomes)) expect(times).toBeGreaterThan(5)
  expect((await findMembers(data, persons)).map(textOf)).toEqual(alone)
}
