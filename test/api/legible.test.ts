/** What definitions and resources have in their names, urls and rules, as findings tell of it: in one line that somebody reads. @cloud */
import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { type Tree, withServer } from './server.ts'

const { post } = withServer({ FHIR_CLIENT_IDS: 'optional' })

/** Ends of lines, what turns the direction, markup, and whole characters without end. */
const ODD = `\n\u0085\u2028\u202e<b>${'😀'.repeat(1_000)}`
/** Controls, an escape of a terminal, half a character: R4 has none of them. */
const WORSE = `\u0001\u001b[31m\ud83d${ODD}`
const ILLEGIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202e]/u

/** `expression text` of what is told, each legible. */
function told({ issue }: Tree): readonly string[] {
  return issue.map(({ details: { text }, expression = [] }: Tree) => {
    expect(`${text}${expression.join('')}`).not.toMatch(ILLEGIBLE)
    expect(text.length).toBeLessThanOrEqual(2_000)
    return `${expression} ${text}`
  })
}

/** `odd` in all that findings say again. */
function profile(url: string, odd: string): Tree {
  const sliced = { discriminator: [{ type: 'value', path: 'system' }], rules: 'closed' }
  const element = [
    { id: 'Patient', path: 'Patient', constraint: [{ key: 'own-1', severity: 'error', human: `h${odd}`, expression: 'false' }] },
    { id: 'Patient.identifier', path: 'Patient.identifier', slicing: sliced },
    { id: 'Patient.identifier:s', path: 'Patient.identifier', sliceName: 's', min: 1 },
    { id: 'Patient.identifier:s.system', path: 'Patient.identifier.system', fixedUri: 'urn:s' },
    { id: 'Patient.birthDate', path: 'Patient.birthDate', patternDate: '2000', constraint: [{ key: 'own-2', severity: 'warning', human: odd, expression: "'" }] },
    { id: 'Patient.name.text', path: 'Patient.name.text', patternString: `g${odd}` },
    { id: 'Patient.maritalStatus', path: 'Patient.maritalStatus', binding: { strength: 'required', valueSet: `urn:${'v'.repeat(1_000)}` } },
  ] // biome-ignore format: a table
  return {
    resourceType: 'StructureDefinition', url, type: 'Patient', kind: 'resource', abstract: false, name: 'Odd', status: 'active',
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient', derivation: 'constraint', differential: { element },
  } // biome-ignore format: one resource
}

it('issues from a profile are legible, whatever its rules, names and values', async () => {
  const url = `http://example.org/${randomUUID()}`
  expect((await post('/StructureDefinition', profile(url, ODD))).status).toBe(201)
  const resource = patient('odd', {
    identifier: [{ system: 'urn:x', value: 'x' }],
    maritalStatus: { coding: [{ code: 'x' }] },
    name: [{ text: 'x' }],
  })
  const found = told((await post(`/Patient/$validate?profile=${encodeURIComponent(url)}`, resource)).body)
  expect(found.map((text) => text.split(' ')[0])).toEqual(
    expect.arrayContaining(['Patient', 'Patient.identifier', 'Patient.name[0].text', 'Patient.maritalStatus']),
  )
})

it('issues about an invalid definition and an unknown canonical URL are legible', async () => {
  const url = `http://example.org/${randomUUID()}`
  const { status, body } = await post('/StructureDefinition', profile(url, WORSE))
  expect([status, told(body).length > 0]).toEqual([400, true])
  const asked = await post(`/Patient/$validate?profile=${encodeURIComponent(`urn:${ODD.slice(0, 607)}`)}`, patient('odd'))
  expect(told(asked.body)).toHaveLength(1)
})

it('unknown element names are escaped as in FHIRPath, and cut between characters', async () => {
  const resource = { ...patient('odd'), '\u0007a\u202e': 1, [`b${'😀'.repeat(50)}`]: 1 }
  const places = told((await post('/Patient/$validate', resource)).body)
  expect(places.map((place) => place.split(' ')[0])).toEqual(
    expect.arrayContaining(['Patient.`\\u0007a\\u202e`', `Patient.\`b${'😀'.repeat(31)}\``]),
  )
})
