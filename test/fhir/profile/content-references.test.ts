/**
 * Elements that have the content of another element. `#id` names an element of the same definition, with what that definition adds to it;
 * `url#id` names an element of the definition with that URL. https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.contentReference
 * `judged`: the error that HAPI's validator 8.8.1 (org.hl7.fhir.validation 6.7.9) reports for the same resource and profile, run by test/judge/Judge.java.
 */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { findErrors, type ProfileElement, profile, profileCheckerOf, R4_CANONICAL_BASE } from '../../fixtures/profiles/checking.ts'
import { copyExample, findIssueTexts, US_CORE } from '../../fixtures/us-core/findings.ts'

const untitled = { resourceType: 'Composition', section: [{ title: 'x', section: [{ text: { status: 'generated', div: '' } }] }] }
const TITLED: ProfileElement = { id: 'Composition.section.title', min: 1 }
const nested = (contentReference: string): ProfileElement => ({ id: 'Composition.section.section', contentReference })

const member = { resourceType: 'Parameters', parameter: [{ name: 'MemberBundle', part: [{ name: 'Key', valueString: 'x' }] }] }
const NO_VALUE: ProfileElement = { id: 'Parameters.parameter.value[x]', max: '0' }
const part = (contentReference: string): ProfileElement => ({ id: 'Parameters.parameter.part', contentReference })

const OTHER = 'http://example.org/titled'
const other = profile([TITLED, nested('#Composition.section')], 'snapshot', OTHER)

const NESTED = 'Composition.section[0].section[0]: title is required'
const NESTED_JUDGED = 'Composition.section[0].section[0] Composition.section.title: minimum required = 1, but only found 0'

type Row = readonly [title: string, definition: Resource, resource: object, found: readonly string[], judged: string | undefined]

const ROWS: readonly Row[] = [
  ['the base definition, in a snapshot', profile([TITLED, nested(`${R4_CANONICAL_BASE}Composition#Composition.section`)], 'snapshot'), untitled, [], undefined],
  ['the same snapshot', profile([TITLED, nested('#Composition.section')], 'snapshot'), untitled, [NESTED], NESTED_JUDGED],
  ['the base definition, from a differential', profile([TITLED]), untitled, [], undefined],
  ['another profile', profile([nested(`${OTHER}#Composition.section`)], 'snapshot'), untitled, [NESTED], NESTED_JUDGED],
  ['parameters of the base definition', profile([NO_VALUE, part(`${R4_CANONICAL_BASE}Parameters#Parameters.parameter`)], 'snapshot'), member, [], undefined],
  ['parameters of the same snapshot', profile([NO_VALUE, part('#Parameters.parameter')], 'snapshot'), member, ['Parameters.parameter[0].part[0].value: value is not allowed'],
    'Parameters.parameter[0].part[0] Parameters.parameter.value[x]: max allowed = 0, but found 1'],
] // biome-ignore format: a table

describe('a content reference', () => {
  it.each(ROWS)('applies the element that HAPI applies: %s', async (_, definition, resource, expected, judged) => {
    expect(await findErrors(profileCheckerOf([definition, other]), resource)).toEqual(expected)
    expect(expected.length > 0).toBe(judged !== undefined)
  })

  it('applies the element of the base profile without additions of the derived profile', async () => {
    const derived = profile([{ id: 'Composition.section.text', min: 1 }], 'differential', undefined, OTHER)
    const find = profileCheckerOf([derived, other])
    const section = { title: 'x', text: {}, section: [{ title: 'x', section: [{}] }] }
    expect(await findErrors(find, { resourceType: 'Composition', section: [section] })).toEqual([
      'Composition.section[0].section[0].section[0]: title is required',
    ])
  })
})

describe('agents of a US Core Provenance', () => {
  const PROVENANCE = `${US_CORE}us-core-provenance`
  const agent = { type: { text: 'x' }, who: { reference: 'Practitioner/p' } }
  const provenance = (more: object) => ({ ...copyExample('Provenance/example-targeted-provenance'), ...more }) as Resource
  const entity = { role: 'source', what: { reference: 'Observation/o' }, agent: [agent] }

  /** HAPI finds no error, and binds the type to R4's provenance-agent-type, not to US Core's value set. */
  it('follow R4 within an entity', async () => {
    expect(await findIssueTexts(provenance({ entity: [entity] }), 'error', [PROVENANCE])).toEqual([])
  })

  it('follow US Core elsewhere', async () => {
    const errors = await findIssueTexts(provenance({ agent: [agent] }), 'error', [PROVENANCE])
    expect(errors).toEqual([expect.stringContaining('(provenance-1, ')])
  })
})
