/** A part of a valid resource is valid, for each kind of part, in HL7's examples. https://hl7.org/fhir/R4/search.html#summary */
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../lambdas/fhir/json.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { selectElements, selectSummary } from '../../lambdas/fhir/summary.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { isFullRun } from '../fixtures/long-runs.ts'
import { exampleTextOf, INVALID_EXAMPLES, OFFICIAL_EXAMPLES } from '../fixtures/validation/official.ts'

/** Examples of each type: the three largest with at most 2 MB, because definitions are alike. Full runs take all. */
const MOST = isFullRun ? Number.POSITIVE_INFINITY : 3
const LARGEST = isFullRun ? Number.POSITIVE_INFINITY : 2_000_000

const typeOf = (name: string): string => name.split('-', 1)[0]!
const texts = OFFICIAL_EXAMPLES.filter((name) => !(name in INVALID_EXAMPLES)).map((name) => ({ name, text: exampleTextOf(name) }))
const chosen = [
  ...Map.groupBy(
    texts.filter(({ text }) => text.length <= LARGEST),
    ({ name }) => typeOf(name),
  ).values(),
]
  .flatMap((some) => (some.length <= MOST ? some : some.toSorted((a, b) => b.text.length - a.text.length).slice(0, MOST)))
  .map(({ name, text }): readonly [string, Resource] => [name, parseJson(text) as Resource])

/**
 * Rules that require an optional element. A part omits it unless the request names it, as R4 allows for parts, which it tags for that.
 * "Servers are not obliged to return just the requested elements. Servers should always return mandatory elements"
 */
const NOT_ASKED_FOR = /\((?:ait-1|app-3|apr-1|bdl-9|bdl-10|cpb-1|cpb-2|cpb-14|cpb-15|ipn-1|org-1|ppc-1|sdf-4|sdf-6|tcp-2|tcp-3)\)$/

type Row = readonly [mode: string, part: (resource: Resource) => Resource]
const MODES: readonly Row[] = [
  ['_summary=true', (resource) => selectSummary(resource, 'true')],
  ['_summary=text', (resource) => selectSummary(resource, 'text')],
  ['_summary=data', (resource) => selectSummary(resource, 'data')],
  ['_elements=id', (resource) => selectElements(resource, ['id'])],
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

it('an element is omitted if nothing of it is left', () => {
  const consent = { resourceType: 'Consent', provision: { provision: [{ type: 'deny' }] } }
  expect(selectSummary(consent, 'true').provision).toBeUndefined()
})

describe('Contained resources', () => {
  const contained = ['a', 'b', 'c'].map((id) => ({ resourceType: 'Organization', id, name: 'x' }))
  const resource = {
    ...{ resourceType: 'Patient', managingOrganization: { reference: '#a' }, gender: 'other' },
    contained: [{ ...contained[0]!, partOf: { reference: '#b' } }, ...contained.slice(1)],
  }
  const idsIn = (part: Resource): unknown => (part.contained as readonly Resource[] | undefined)?.map(({ id }) => id)

  it('stay if a remaining element or contained resource refers to them', () => {
    expect(idsIn(selectElements(resource, ['managingOrganization']))).toEqual(['a', 'b'])
    expect(idsIn(selectSummary(resource, 'true'))).toEqual(['a', 'b'])
    expect(idsIn(selectElements(resource, ['gender']))).toBeUndefined()
    expect(idsIn(selectElements(resource, ['contained']))).toEqual(['a', 'b', 'c'])
  })

  it('stay if a canonical URL names them', () => {
    const questionnaire = { resourceType: 'Questionnaire', id: 'q', status: 'draft' }
    const response = { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '#q', contained: [questionnaire] }
    expect(idsIn(selectSummary(response, 'true'))).toEqual(['q'])
  })
})
