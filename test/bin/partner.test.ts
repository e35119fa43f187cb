/** `fhir partner`: registers, lists and removes partners. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { runFhir, startTokenServerWithSettings } from './process.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi|1234567893'

it('registers a partner with a new key, lists it and removes it', async () => {
  const [data, key] = [newFolder(), join(newFolder(), 'key.json')]
  const said = ['--kind', 'payer', '--identifier', NPI, '--identifier', 'urn:oid:2.16.840.1.113883.6.300|12345', '--name', 'Other Payer']
  const added = await runFhir('partner', 'add', 'other', ...said, '--new-key', key, '--data', data)
  expect([added.code, existsSync(key)]).toEqual([0, true])
  expect(added.out).toBe(
    'The partner other is registered as a payer\nA Consent that excludes sensitive data permits nothing (FHIR_SENSITIVE_LABELS)\n',
  )
  await runFhir('client', 'add', 'app', '--secret', '--scope', 'system/*.rs', '--data', data)
  const listed = await runFhir('partner', 'list', '--json', '--data', data)
  expect(JSON.parse(listed.out)).toMatchObject({
    client_id: 'other',
    scope: 'system/*.rs',
    partner: {
      kind: 'payer',
      identifiers: [
        { system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' },
        { system: 'urn:oid:2.16.840.1.113883.6.300', value: '12345' },
      ],
    },
  })
  const table = await runFhir('partner', 'list', '--data', data)
  expect(table.out.split('\n')[1]).toBe(`other  payer  Other Payer  default  ${NPI} urn:oid:2.16.840.1.113883.6.300|12345`)
  expect(await runFhir('partner', 'remove', 'app', '--data', data)).toMatchObject({ code: 1, err: 'fhir: There is no partner app\n' })
  const removed = await runFhir('partner', 'remove', 'other', '--data', data)
  expect([removed.code, (await runFhir('partner', 'list', '--data', data)).out]).toEqual([0, 'There are no partners\n'])
})

it.each([
  ['unknown', 'nothing'],
  ['none', 'all data'],
  ['urn:a|b,urn:a|c', 'all data without the labels urn:a|b, urn:a|c'],
])('prints the effect of most Consents at a running server with the sensitive labels %s', async (labels, permitted) => {
  const [data, key] = [newFolder(), join(newFolder(), 'key.json')]
  const server = await startTokenServerWithSettings({ FHIR_SENSITIVE_LABELS: labels }, '--data', data)
  const added = ['--identifier', NPI, '--new-key', key, '--data', data]
  const payer = await runFhir('partner', 'add', 'payer', '--kind', 'payer', ...added)
  expect(payer.out.split('\n')[1]).toBe(`A Consent that excludes sensitive data permits ${permitted} (FHIR_SENSITIVE_LABELS)`)
  rmSync(key)
  const provider = await runFhir('partner', 'add', 'provider', '--kind', 'provider', ...added)
  expect(provider.out).toBe('The partner provider is registered as a provider\n')
  await server.stop()
})

it.each([
  ['kind', ['--identifier', NPI, '--jwks', 'keys.json']],
  ['identifier', ['--kind', 'payer', '--jwks', 'keys.json']],
  ['SYSTEM|VALUE', ['--kind', 'payer', '--identifier', '1234567893', '--jwks', 'keys.json']],
  [
    'the last one is a check digit',
    ['--kind', 'payer', '--identifier', 'http://hl7.org/fhir/sid/us-npi|1234567890', '--jwks', 'keys.json'],
  ],
  ['--jwks FILE', ['--kind', 'payer', '--identifier', NPI]],
])('names the missing or wrong part of a registration: %s', async (reason, said) => {
  const data = join(newFolder(), 'data')
  const { code, err } = await runFhir('partner', 'add', 'other', ...said, '--data', data)
  expect([code, err.includes(reason), existsSync(data)]).toEqual([1, true, false])
})
