/** Steps of clients in JavaScript. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { serveToClients } from './client-server.ts'
import { fhirKitClient } from './fhir-kit-client.ts'
import { fhirclientJs } from './fhirclient.ts'
import { fhirclientOfMember } from './fhirclient-member.ts'
import { medplum } from './medplum.ts'
import { describeMemberClaims } from './member-claims.ts'
import { runSteps, STEPS, type StepResults } from './steps.ts'

const base = serveToClients()

const CLIENTS = { 'fhir-kit-client': fhirKitClient, 'fhirclient.js': fhirclientJs, 'Medplum’s client': medplum }

describe.each(Object.entries(CLIENTS))('%s', (_, client) => {
  let done: StepResults
  beforeAll(async () => {
    done = await runSteps(client(base()))
  })

  it.each(STEPS)('%s', (step) => {
    expect(done.get(step)).toBe('')
  })
})

describeMemberClaims('fhirclient.js', async (base) => fhirclientOfMember(base))
