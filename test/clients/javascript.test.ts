/** What clients in JavaScript do: each step by name. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { fhirKitClient } from './fhir-kit-client.ts'
import { fhirclientJs } from './fhirclient.ts'
import { medplum } from './medplum.ts'
import { servedToClients } from './served.ts'
import { STEPS, type Told, told } from './steps.ts'

const base = servedToClients()

const CLIENTS = { 'fhir-kit-client': fhirKitClient, 'fhirclient.js': fhirclientJs, 'Medplum’s client': medplum }

describe.each(Object.entries(CLIENTS))('%s', (_, client) => {
  let done: Told
  beforeAll(async () => {
    done = await told(client(base()))
  })

  it.each(STEPS)('%s', (step) => {
    expect(done.get(step)).toBe('')
  })
})
