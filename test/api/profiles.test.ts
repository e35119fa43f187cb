/** $validate against profiles: US Core's, those a resource names, and none that is loaded. https://hl7.org/fhir/R4/profiling.html @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { copyExample, US_CORE, US_CORE_EXAMPLES } from '../fixtures/us-core/findings.ts'
import { type TestResponse, type Tree, withServer } from './server.ts'

const { post } = withServer()

const errors = ({ body }: TestResponse): readonly string[] =>
  body.issue.flatMap(({ severity, details, expression = [] }: Tree) => (severity === 'error' ? [`${expression[0]} ${details.text}`] : []))
const validated = (resource: Tree, query = '') => post(`/${resource.resourceType}/$validate${query}`, resource)
const LAB = `${US_CORE}us-core-observation-lab|6.1.0`

describe('a resource that names profiles of US Core', () => {
  it.each(US_CORE_EXAMPLES.filter((_, i) => i % 9 === 0).map((resource) => [`${resource.resourceType}/${resource.id}`, resource] as const))(
    'conforms: %s',
    async (_, resource) => {
      const answer = await validated(resource)
      expect([answer.status, errors(answer)]).toEqual([200, []])
    },
  )

  const LABORATORY = '{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/observation-category","code":"laboratory"}]}'

  it('is reported with slice, rule and versioned profile if it differs', async () => {
    const { category: _, valueQuantity: __, ...rest } = copyExample('Observation/serum-sodium') as Tree
    expect(errors(await validated({ ...rest, category: [{ text: 'x' }] }))).toEqual([
      `Observation If there is no component or hasMember element then either a value[x] or a data absent reason must be present (us-core-2, ${LAB})`,
      `Observation.category category:us-core is required, with ${LABORATORY} (${LAB})`,
    ])
  })
})

describe('a profile in the request', () => {
  it('is checked as if the resource named it', async () => {
    const { meta: _, category: __, ...rest } = copyExample('Observation/serum-sodium') as Tree
    expect(errors(await validated(rest))).toEqual([])
    for (const canonical of [`${US_CORE}us-core-observation-lab`, LAB])
      expect(errors(await validated(rest, `?profile=${encodeURIComponent(canonical)}`))).toEqual([
        `Observation category is required (${LAB})`,
      ])
  })

  it('is 422 if it is not loaded, and a warning if the resource names it', async () => {
    const patient = copyExample('Patient/example') as Tree
    for (const canonical of [`${US_CORE}us-core-patient|5.0.0`, 'http://example.org/unheard-of']) {
      expect((await validated(patient, `?profile=${encodeURIComponent(canonical)}`)).status).toBe(422)
      const { body, status } = await validated({ ...patient, meta: { profile: [canonical] } })
      const told = body.issue.filter(({ code }: Tree) => code === 'not-found')
      expect([status, told]).toEqual([200, [expect.objectContaining({ severity: 'warning', expression: ['Patient.meta.profile[0]'] })]])
    }
  })
})
