/** The rules by which a member is found, one by one. */
import { describe, expect, it } from '@jest/globals'
import {
  type Candidate,
  cardOf,
  type FoundCard,
  foldName,
  isMember,
  MATCH_RULES,
  namesOf,
  type SentPerson,
} from '../../../lambdas/partners/match/match-rules.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { coverageOf, memberNumber } from '../member-store.ts'

const BIRTH_SEX = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-birthsex'
const birthSex = (valueCode: string): Tree => ({ extension: [{ url: BIRTH_SEX, valueCode }] })

const holds = (name: string, sent: Partial<SentPerson>, own: Tree, cards: readonly FoundCard[] = [{ by: 'identifier' }]): boolean => {
  const person: SentPerson = { names: [], birthDate: '', card: { identifiers: [], memberIdentifiers: [] }, ...sent }
  return MATCH_RULES.find((rule) => rule.name === name)!.holds(person, { patient: patient('p', own), cards })
}

/** Whether two names, each `Given Given|Family`, are the same. Given names are separated by `+`. */
function areSame(sent: string, ...own: readonly string[]): boolean {
  const nameOf = (text: string): Tree => {
    const [given = '', family] = text.split('|')
    return { family, given: given.split('+') }
  }
  return holds('name', { names: namesOf(patient('s', { name: [nameOf(sent)] })) }, { name: own.map(nameOf) })
}

describe('the rule of the date of birth', () => {
  it.each([
    ['1974-12-25', true],
    ['1974-12-24', false],
    ['1974-12', false],
    ['1974', false],
    [undefined, false],
  ])('compares 1974-12-25 with %s: %s', (birthDate, expected) =>
    expect(holds('birthDate', { birthDate: '1974-12-25' }, { birthDate })).toBe(expected),
  )
})

describe('the rule of names', () => {
  it.each([
    ['Patricia|Person', 'PATRICIA|person'],
    ['Patricia+Ann|Person', 'Patricia|Person'],
    ['Patricia|Person', 'Ann+Patricia|Person'],
    ['Conor|O’Brien', "Conor|O'Brien"],
    ['Conor|OBRIEN', "Conor|O'Brien"],
    ['Mary-Ann|Jones', 'Mary Ann|Jones'],
    ['MaryAnn|Jones', 'Mary-Ann|Jones'],
    ['Mary|Jones', 'Mary Ann|Jones'],
    ['Mary-Ann|Jones', 'Mary+Ann|Jones'],
    ['Ann|Smith Jones', 'Ann|Smith-Jones'],
    ['José|Nuñez', 'Jose|Nunez'],
    ['Jose\u0301|Nun\u0303ez', 'José|Nuñez'],
    ['Søren|Ørsted', 'Soren|Orsted'],
    ['Jürgen|Groß', 'JURGEN|GROSS'],
    ['فاطمة|حسن', 'فَاطِمَة|حَسَن'],
    ['小明|王', '小明|王'],
    ['ｱｲ|ﾔﾏﾀﾞ', 'アイ|ヤマダ'],
    ['Ανδρέας|Παπάς', 'ΑΝΔΡΕΑΣ|ΠΑΠΑΣ'],
    ['J.R.|Smith', 'JR|Smith'],
    ['Ann 2|Smith', 'Ann|Smith'],
  ])('takes %s for %s', (sent, own) => expect(areSame(sent, own)).toBe(true))

  it.each([
    ['Patricia|Person', 'Pat|Person'],
    ['Patricia|Person', 'Patricia|Persons'],
    ['Ann+Patricia|Person', 'Patricia|Person'],
    ['Mary Ann|Jones', 'Mary Beth|Jones'],
    ['小明|王', '小红|王'],
    ['فاطمة|حسن', 'زينب|حسن'],
    ['Jürgen|Müller', 'Jürgen|Mueller'],
    ['Person|Patricia', 'Patricia|Person'],
  ])('does not take %s for %s', (sent, own) => expect(areSame(sent, own)).toBe(false))

  it('compares every stored name, such as a maiden name', () => {
    expect(areSame('Ann|Maiden', 'Ann|Married', 'Ann|Maiden')).toBe(true)
  })

  it('takes family and given name from the same stored name', () => {
    expect(areSame('Ann|Maiden', 'Ann|Married', 'Anna|Maiden')).toBe(false)
  })

  it('compares every sent name', () => {
    const name = [
      { family: 'Married', given: ['Ann'] },
      { family: 'Maiden', given: ['Ann'] },
    ]
    expect(holds('name', { names: namesOf(patient('s', { name })) }, { name: [{ family: 'Maiden', given: ['Ann'] }] })).toBe(true)
  })

  it('leaves out names without letters', () => {
    expect(namesOf(patient('p', { name: [{ family: '-', given: ['A'] }, { family: 'B', given: ['.'] }, { family: 'C' }] }))).toEqual([])
  })

  it('folds a name of 10,000 characters', () => expect(foldName('Ä'.repeat(10_000))).toBe('a'.repeat(10_000)))
})

describe('the rule of sex', () => {
  it.each<[what: string, sent: Partial<SentPerson>, own: Tree, expected: boolean]>([
    ['equal genders', { gender: 'female' }, { gender: 'female' }, true],
    ['other genders', { gender: 'female' }, { gender: 'male' }, false],
    ['other genders with equal birth sexes', { gender: 'female', birthSex: 'M' }, { gender: 'male', ...birthSex('M') }, false],
    ['an unknown stored gender', { gender: 'female' }, { gender: 'unknown' }, true],
    ['no stored gender', { gender: 'female' }, {}, true],
    ['birth sexes without a stored gender', { gender: 'female', birthSex: 'F' }, birthSex('M'), false],
    ['equal birth sexes', { birthSex: 'F' }, { gender: 'female', ...birthSex('F') }, true],
    ['an unknown stored birth sex', { birthSex: 'F' }, birthSex('UNK'), true],
  ])('holds with %s: %s %s %s', (_, sent, own, expected) => expect(holds('sex', sent, own)).toBe(expected))
})

describe('the rule of dependents', () => {
  const sent = { card: { identifiers: [], memberIdentifiers: [], dependent: '02' } }
  it.each<[what: string, cards: readonly FoundCard[], expected: boolean]>([
    ['the same number', [{ by: 'subscriberId', dependent: '02' }], true],
    ['another number', [{ by: 'subscriberId', dependent: '03' }], false],
    ['the same number without its zero', [{ by: 'subscriberId', dependent: '2' }], false],
    ['no stored number', [{ by: 'subscriberId' }], true],
    ['an own number on the card', [{ by: 'identifier', dependent: '03' }], true],
    [
      'one of two cards',
      [
        { by: 'subscriberId', dependent: '03' },
        { by: 'subscriberId', dependent: '02' },
      ],
      true,
    ],
  ])('holds with %s: %s', (_, cards, expected) => expect(holds('dependent', sent, {}, cards)).toBe(expected))

  it('holds if no number was sent', () => expect(holds('dependent', {}, {}, [{ by: 'subscriberId', dependent: '03' }])).toBe(true))
})

describe('the card', () => {
  const card = { identifiers: [{ system: 's', value: 'A01' }, { value: 'B.2' }], memberIdentifiers: [], subscriberId: '007' }
  it.each<[what: string, fields: Tree, by: string | undefined]>([
    ['an identifier', { identifier: [memberNumber('A01', 's')] }, 'identifier'],
    ['an identifier in another case', { identifier: [memberNumber('a01', 's')] }, 'identifier'],
    ['an identifier of another system', { identifier: [memberNumber('A01', 't')] }, undefined],
    ['an identifier that was sent without a system', { identifier: [memberNumber('B.2', 't')] }, 'identifier'],
    ['an identifier without its dot', { identifier: [memberNumber('B2', 't')] }, undefined],
    ['the subscriberId', { subscriberId: '007' }, 'subscriberId'],
    ['the subscriberId without its zeros', { subscriberId: '7' }, undefined],
    ['both', { identifier: [memberNumber('A01', 's')], subscriberId: '007' }, 'identifier'],
    ['a Coverage that is entered in error', { status: 'entered-in-error', subscriberId: '007' }, undefined],
    ['a cancelled Coverage', { status: 'cancelled', subscriberId: '007' }, 'subscriberId'],
  ])('is found by %s', (_, fields, by) => expect(cardOf(coverageOf('c', 'p', fields), card)?.by).toBe(by))
})

it('a member meets every rule', () => {
  const own = { family: 'Person', name: [{ family: 'Person', given: ['Ann'] }], birthDate: '1974-12-25', gender: 'female' }
  const candidate: Candidate = { patient: patient('p', own), cards: [{ by: 'identifier' }] }
  const sent: SentPerson = {
    names: namesOf(candidate.patient),
    birthDate: '1974-12-25',
    gender: 'female',
    card: { identifiers: [], memberIdentifiers: [] },
  }
  expect(isMember(sent, candidate)).toBe(true)
  for (const other of [{ names: [] }, { birthDate: '1974-12-24' }, { gender: 'male' }])
    expect(isMember({ ...sent, ...other }, candidate)).toBe(false)
})
