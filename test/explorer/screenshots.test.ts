/** The screenshots of README.md. `FHIR_SCREENSHOTS=1 npm test -- test/explorer/screenshots` makes them again. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { closeAfterAll, type Explored, HAS_BROWSER, startExplored, TestBrowser } from './explored.ts'

const FOLDER = join(import.meta.dirname, '../../lambdas/docs/images')
const ALETA = '58c297c4-d684-4677-8024-01131d93835e'
const SIZE = { width: 1200, height: 750 }

;(HAS_BROWSER ? describe : describe.skip)('a screenshot of the README', () => {
  let server: Explored
  let browser: TestBrowser

  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startExplored('open'), TestBrowser.launch()])
  })

  closeAfterAll(() => [browser, server])

  it.each([
    ['explorer-home', '', 'Resources', '.counts'],
    ['explorer-chart', `/Patient/${ALETA}/chart`, 'Observations', 'canvas'],
  ])('shows a page that exists, in its size: %s', async (name, path, heading, last) => {
    const page = await browser.open(`${server.base}/explorer${path}`, { width: SIZE.width })
    await page.getByRole('heading', { name: heading }).evaluate((element) => element.scrollIntoView())
    await page.locator(last).first().waitFor()
    const image = await page.screenshot({ clip: { x: 0, y: 0, ...SIZE } })
    const file = join(FOLDER, `${name}.png`)
    if (process.env.FHIR_SCREENSHOTS === '1') writeFileSync(file, image)
    const sizeOf = (png: Buffer) => [png.readUInt32BE(16), png.readUInt32BE(20)]
    expect(sizeOf(readFileSync(file))).toEqual(sizeOf(image))
  })
})
