/** Partners that guess cards of persons, at the embedded server. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, TestResponse } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { runFhir } from '../bin/process.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ANN, BERT, bulkInput, match, membersBundle, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

const withPayer = (proof: (server: SettingsServer, partner: TestClient) => Promise<void>): Promise<void> =>
  withSettings(PAYER_SETTINGS, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    await proof(server, await partnerOf(server))
  })

const startBulk = (partner: TestClient, members: Parameters<typeof bulkInput>[0]): Promise<TestResponse> =>
  partner.post('/Group/$bulk-member-match', bulkInput(members), ASYNC)

/** Returns the numbers of members in the Groups of a job. */
async function bulkMatch(partner: TestClient, members: Parameters<typeof bulkInput>[0]): Promise<readonly number[]> {
  const { headers } = await startBulk(partner, members)
  const { body } = await eventually(() => partner.get(headers.get('content-location')!), {
    until: ({ status }) => status !== 202,
    every: 20,
  })
  const { text } = await partner.get(body.output[0].url)
  return text.trim().split('\n').map((line) => JSON.parse(line).quantity) // biome-ignore format: one line
}

const cards = (count: number) => Array.from({ length: count }, (_, i) => ({ ...ANN, card: `X-${i}` }))

describe('a partner', () => {
  it('does not find a person after five wrong cards, and gets the response for a stranger', () =>
    withPayer(async (server, partner) => {
      const answers: TestResponse[] = []
      for (const guess of cards(5)) answers.push(await match(partner, guess))
      answers.push(await match(partner, ANN))
      expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(6).fill([422, answers[0]!.text]))
      expect(await bulkMatch(partner, [{ member: ANN }, { member: BERT }])).toEqual([1, 1])
      const { out } = await runFhir('partner', 'matches', 'payer', '--json', '--data', server.folder)
      expect(JSON.parse(out)).toEqual({ 'no match': 5, 'too many guesses': 2, matched: 1 })
    }))

  it('does not find a person if one request of many members guesses the card', () =>
    withPayer(async (_server, partner) => {
      expect(
        await bulkMatch(
          partner,
          [...cards(3), ANN, BERT, ...cards(5)].map((member) => ({ member })),
        ),
      ).toEqual([1, 9])
      expect((await match(partner, ANN)).status).toBe(422)
      expect((await match(partner, BERT)).status).toBe(200)
    }))

  it('finds a person after two wrong cards, and again and again', () =>
    withPayer(async (_server, partner) => {
      for (const guess of [...cards(2), ...cards(2)]) expect((await match(partner, guess)).status).toBe(422)
      for (let i = 0; i < 6; i++) expect((await match(partner, ANN)).status).toBe(200)
      expect(await bulkMatch(partner, [{ member: ANN }])).toEqual([1])
    }))

  it('waits for an hour after 1,000 strangers. The running match completes', () =>
    withPayer(async (server, partner) => {
      const strangers = Array.from({ length: 1_000 }, (_, i) => ({ ...ANN, given: `Stranger${i}`, card: `S-${i}` }))
      expect(
        await bulkMatch(
          partner,
          [ANN, ...strangers].map((member) => ({ member })),
        ),
      ).toEqual([1, 1_000])
      for (const answer of [await match(partner, ANN), await startBulk(partner, [{ member: ANN }])]) {
        expect([answer.status, answer.body.issue[0].code]).toEqual([429, 'throttled'])
        const wait = Number(answer.headers.get('retry-after'))
        expect([wait > 0, wait <= 3_600]).toEqual([true, true])
      }
      expect((await match(await partnerOf(server, 'payer', 'another-payer'), ANN)).status).toBe(200)
    }))
})

it('a client of the payer is not limited', () =>
  withPayer(async (server) => {
    for (const guess of cards(6)) expect((await match(server, guess)).status).toBe(422)
    expect((await match(server, ANN)).status).toBe(200)
    expect(
      await bulkMatch(
        server,
        [...cards(6), ANN].map((member) => ({ member })),
      ),
    ).toEqual([1, 6])
  }))
