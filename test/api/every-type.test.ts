/** Every resource type of R4: an official example of each is written, read, found and kept as it is. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { parseJson, writeJson } from '../../lambdas/fhir/json.ts'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { type Tree, withServer } from './server.ts'

const { get, send } = withServer()

const EXAMPLES = 'node_modules/hl7.fhir.r4.examples'
/** Types the package has no example of, or only one that breaks R4's own rules. */
const WITHOUT: Readonly<Record<string, Tree>> = {
  DeviceMetric: { type: { text: 'x' }, category: 'measurement' },
  DeviceUseStatement: { status: 'active', subject: { reference: 'Patient/1' }, device: { reference: 'Device/1' } },
  EventDefinition: { status: 'draft', trigger: [{ type: 'named-event', name: 'x' }] },
  Parameters: { parameter: [{ name: 'x', valueString: 'y' }] },
  SubstanceNucleicAcid: { numberOfSubunits: 1 },
  SubstancePolymer: { modification: ['x'] },
  SubstanceProtein: { numberOfSubunits: 1 },
  SubstanceReferenceInformation: { comment: 'x' },
  SubstanceSourceMaterial: { organismName: 'x' },
}

const names = readdirSync(EXAMPLES)

function exampleOf(type: string): string {
  for (const name of names.filter((name) => name.startsWith(`${type}-`) && name.endsWith('.json'))) {
    const text = readFileSync(`${EXAMPLES}/${name}`, 'utf8')
    const tree = parseJson(text) as Tree
    if (text.length < 100_000 && typeof tree.id === 'string' && validate(tree).length === 0) return text
  }
  return JSON.stringify({ resourceType: type, id: 'example', ...WITHOUT[type] })
}

it('an example of each of 146 types is written, read and found unchanged', async () => {
  expect(resourceTypes).toHaveLength(146)
  for (const type of resourceTypes) {
    const text = exampleOf(type)
    const { id, meta, ...content } = parseJson(text) as Tree
    const written = await send('PUT', `/${type}/${id}`, text)
    expect([type, written.status]).toEqual([type, 201])
    const { text: read } = await get(`/${type}/${id}`)
    const { id: sameId, meta: newMeta, ...same } = parseJson(read) as Tree
    expect(writeJson({ id: sameId, ...same })).toBe(writeJson({ id, ...content }))
    expect(newMeta).toMatchObject({ ...meta, versionId: '1', lastUpdated: expect.any(String) })
    const found = await get(`/${type}?_id=${id}`)
    expect([type, found.body.total]).toEqual([type, 1])
    expect((await get(`/${type}/${id}?_summary=true`)).status).toBe(200)
  }
})
