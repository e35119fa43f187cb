/** A part of what is valid is valid, whatever part is asked for: of HL7's examples. https://hl7.org/fhir/R4/search.html#summary */
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../lambdas/fhir/json.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { elementsOnly, summaryOnly } from '../../lambdas/fhir/summary.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { isWhole } from '../fixtures/long-runs.ts'
import { OFFICIAL, REFUSED, textOf } from '../fixtures/validation/official.ts'

/** Examples of each type: the three largest with at most 2 MB, because definitions are alike. Whole loops take all. */
const MOST = isWhole ? Number.POSITIVE_INFINITY : 3
const LARGEST = isWhole ? Number.POSITIVE_INFINITY : 2_000_000

const typeOf = (name: string): string => name.split('-', 1)[0]!
const texts = OFFICIAL.filter((name) => !(name in REFUSED)).map((name) => ({ name, text: textOf(name) }))
const chosen = [
  ...Map.groupBy(
    texts.filter(({ text }) => text.length <= LARGEST),
    ({ name }) => typeOf(name),
  ).values(),
]
  .flatMap((some) => (some.length <= MOST ? some : some.toSorted((a, b) => b.text.length - a.text.length).slice(0, MOST)))
  .map(({ name, text }): readonly [string, Resource] => [name, parseJson(text) as Resource])

/**
 * Rules that ask for an element that need not be there: it is left out, unless it is asked for, as R4 says of parts, which are tagged for
 * that. "Servers are not obliged to return just the requested elements. Servers should always return mandatory elements"
 */
const NOT_ASKED_FOR = /\((?:ait-1|app-3|apr-1|bdl-9|bdl-10|cpb-1|cpb-2|cpb-14|cpb-15|ipn-1|org-1|ppc-1|sdf-4|sdf-6|tcp-2|tcp-3)\)$/

type Row = readonly [mode: string, part: (resource: Resource) => Resource]
const MODES: readonly Row[] = [
  ['_summary=true', (resource) => summaryOnly(resource, 'true')],
  ['_summary=text', (resource) => summaryOnly(resource, 'text')],
  ['_summary=data', (resource) => summaryOnly(resource, 'data')],
  ['_elements=id', (resource) => elementsOnly(resource, ['id'])],
]

describe('parts of HL7’s examples', () => {
  it.each(MODES)('are valid: %s', (_, part) => {
    const found = chosen.flatMap(([name, resource]) =>
      validate(part(resource)).flatMap(({ severity, text, expression }) =>
        severity !== 'error' || NOT_ASKED_FOR.test(text) ? [] : [`${name}: ${expression} ${text}`],
      ),
    )
    expect(found).toEqual([])
    expect(chosen.length).toBeGreaterThan(250)
  })
})

it('What nothing is left of is left out', () => {
  const consent = { resourceType: 'Consent', provision: { provision: [{ type: 'deny' }] } }
  expect(summaryOnly(consent, 'true').provision).toBeUndefined()
})

describe('Contained resources', () => {
  const contained = ['a', 'b', 'c'].map((id) => ({ resourceType: 'Organization', id, name: 'x' }))
  const resource = {
    ...{ resourceType: 'Patient', managingOrganization: { reference: '#a' }, gender: 'other' },
    contained: [{ ...contained[0]!, partOf: { reference: '#b' } }, ...contained.slice(1)],
  }
  const idsIn = (part: Resource): unknown => (part.contained as readonly Resource[] | undefined)?.map(({ id }) => id)

  it('stay where what remains refers to them, or one that stays does', () => {
    expect(idsIn(elementsOnly(resource, ['managingOrganization']))).toEqual(['a', 'b'])
    expect(idsIn(summaryOnly(resource, 'true'))).toEqual(['a', 'b'])
    expect(idsIn(elementsOnly(resource, ['gender']))).toBeUndefined()
    expect(idsIn(elementsOnly(resource, ['contained']))).toEqual(['a', 'b', 'c'])
  })

  it('stay where a canonical names them', () => {
    const questionnaire = { resourceType: 'Questionnaire', id: 'q', status: 'draft' }
    const response = { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '#q', contained: [questionnaire] }
    expect(idsIn(summaryOnly(response, 'true'))).toEqual(['q'])
  })
})
