/** Tests of a client as the app of a member. It logs the member in, and sends the searches of CARIN BB and PDex. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CLAIM_SEARCHES, EVERYTHING, INCLUDE_SEARCHES, MEMBER } from '../fixtures/payer/member-record.ts'
import { type MemberServer, startMemberServer } from './member-server.ts'

export type MemberClient = {
  /** Returns the id of the patient in context. */
  readonly logIn: (signIn: MemberServer['signIn']) => Promise<string>
  /** `query`: below the base URL. Returns `Type/id` of each resource in all pages. */
  readonly read: (query: string) => Promise<readonly string[]>
  /** Ends the program that the client runs in, if any. */
  readonly close?: () => Promise<unknown>
}

/** `reason`: why the client cannot be tested here. */
export function describeMemberClaims(name: string, open: (base: string) => Promise<MemberClient>, reason?: string): void {
  const trying = reason === undefined ? it : it.skip
  describe(`${name} as the app of a member`, () => {
    let server: MemberServer | undefined
    let client: MemberClient | undefined
    let patient: string
    beforeAll(async () => {
      if (reason !== undefined) return
      server = await startMemberServer()
      client = await open(server.base)
      patient = await client.logIn(server.signIn)
    })
    afterAll(async () => {
      await client?.close?.()
      await server?.close()
    })

    const expectFound = async (query: string, found: readonly string[]): Promise<void> =>
      expect([query, (await client!.read(query)).toSorted()]).toEqual([query, found])

    trying('logs the member in', () => {
      expect(patient).toBe(MEMBER)
    })

    trying('finds claims and authorizations by each parameter, alone and with the patient', async () => {
      for (const [query, found] of CLAIM_SEARCHES) await expectFound(query, found)
    })

    trying('receives the resources that claims and coverages refer to, and their Provenance', async () => {
      for (const [query, found] of INCLUDE_SEARCHES) await expectFound(query, found)
    })

    trying('receives the whole record by $everything', () => expectFound(`Patient/${MEMBER}/$everything`, EVERYTHING))
  })
}
