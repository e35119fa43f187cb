/** A deployment for a test file, asked for at FHIR_FRESH_URL; without one, a line that says so. */
import { beforeAll, describe, it } from '@jest/globals'
import { type Client, clientOf } from '../api/server.ts'
import { tokensOf } from '../fixtures/given-tokens.ts'
import type { Described, Wish } from './cloud.ts'

/** `client`: who may do everything there. */
export function onCloud(name: string, wish: Wish, suite: (cloud: () => Described, client: Client) => void): void {
  const url = process.env.FHIR_FRESH_URL
  if (url === undefined) {
    const reason = 'there is no deployment; `npm run test:cloud` makes one'
    process.stderr.write(`${name} is not tested: ${reason}\n`)
    describe(name, () => {
      it.skip(`is not tested: ${reason}`, () => {})
    })
    return
  }
  describe(name, () => {
    let described: Described | undefined
    let token: (() => Promise<string>) | undefined
    beforeAll(async () => {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(wish) })
      if (!response.ok) throw new Error(await response.text())
      described = (await response.json()) as Described
      const { administrator } = described
      token = administrator === undefined ? undefined : tokensOf(process.env.FHIR_BASE_URL!, administrator)
    })
    const client = clientOf(
      () => process.env.FHIR_BASE_URL!,
      () => token?.(),
    )
    suite(() => described!, client)
  })
}
