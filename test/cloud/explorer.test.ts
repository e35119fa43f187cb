/** The explorer of a deployed stage in a browser: from its address over the login to a resource. @cloud:here */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Passwords } from '../../lambdas/auth/login/passwords.ts'
import { HAS_BROWSER, PASSWORD, signIn, TestBrowser } from '../explorer/explored.ts'
import { patient } from '../fixtures/resources.ts'
import { registryOf } from './registry.ts'
import { runOnCloud } from './requested-deployment.ts'

if (HAS_BROWSER)
  runOnCloud('the explorer of a stage', { here: true }, (cloud, { get, put }) => {
    let browser: TestBrowser
    const base = (): string => process.env.FHIR_BASE_URL!

    beforeAll(async () => {
      browser = await TestBrowser.launch()
      const { users, close } = registryOf(cloud().awsEndpoint, cloud().deployment)
      const password = await new Passwords().hash(PASSWORD)
      const doctor = {
        name: 'doctor',
        subject: 'subject-of-doctor',
        tenants: ['default'],
        scopes: ['user/*.cruds'],
        fhirUser: 'Practitioner/7',
      }
      await users.change('doctor', () => ({ ...doctor, password, changedAt: 0 }))
      close()
      await put('/Patient/explored', patient('explored', { name: [{ family: 'Bell', given: ['Ann'] }] }))
      expect((await get('/Patient')).body.total).toBe(1)
    })

    afterAll(() => browser?.close())

    it('leads from the base URL over the login to a resource', async () => {
      const page = await browser.open(`${base()}/`)
      await signIn(page, 'doctor')
      await page.getByRole('link', { name: 'Patient 1' }).click()
      await page.getByRole('cell', { name: 'Ann Bell' }).waitFor()
      await page.getByRole('link', { name: 'explored' }).click()
      await page.getByRole('heading', { name: 'Patient/explored' }).waitFor()
      expect(page.url()).toBe(`${base()}/explorer/Patient/explored`)
      expect(browser.problems).toEqual([])
    })
  })
