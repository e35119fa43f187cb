/** A deployment for a test file, asked for at FHIR_FRESH_URL; without one, a line that says so. */
import { beforeAll, describe, it } from '@jest/globals'
import type { Described, Wish } from './cloud.ts'

export function onCloud(name: string, wish: Wish, suite: (cloud: () => Described) => void): void {
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
    beforeAll(async () => {
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(wish) })
      if (!response.ok) throw new Error(await response.text())
      described = (await response.json()) as Described
    })
    suite(() => described!)
  })
}
