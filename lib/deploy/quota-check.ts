/** Compares the quotas of the account with those that a stage needs. It only reads. */
import { GetAWSDefaultServiceQuotaCommand, GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas'
import type { Quota } from '../model/quotas.ts'
import { stageQuotasOf } from '../model/stage-quotas.ts'
import type { Settings } from '../settings/settings.ts'
import { ignoreErrorsNamed } from './error-names.ts'

/** Returns a line for each quota. Neither a low nor an unreadable quota prevents a deployment: it limits the load of the stage. */
export async function compareQuotas(settings: Settings): Promise<readonly string[]> {
  const { region } = settings
  const client = new ServiceQuotasClient({ region })
  const uses = stageQuotasOf(settings)
  // Several tables have the same quota. It is read once.
  const codes = new Map(uses.map(({ quota }) => [quota.code, quota]))
  const values = new Map(await Promise.all([...codes].map(async ([code, quota]) => [code, await readValue(client, quota)] as const)))
  return uses.map(({ what, used, quota: { service, code } }) => {
    const value = values.get(code)!
    const need = `Quotas: ${what}: the stage needs ${count(used)}, `
    if (typeof value !== 'number')
      return `${need}the quota of the account is unknown (${value.name}: ${value.message}). Look it up: Service Quotas, ${service}, ${code}`
    if (value >= used) return `${need}the account has ${count(value)}`
    return `${need}but the account has ${count(value)}. Request more: aws service-quotas request-service-quota-increase --region ${region} --service-code ${service} --quota-code ${code} --desired-value ${Math.ceil(used)}`
  })
}

/** Returns the value of the account, else the default. Service Quotas has no value of an account for some quotas that never changed. */
async function readValue(client: ServiceQuotasClient, { service, code }: Quota): Promise<number | Error> {
  const input = { ServiceCode: service, QuotaCode: code }
  try {
    const applied = await client.send(new GetServiceQuotaCommand(input)).catch(ignoreErrorsNamed('NoSuchResourceException'))
    const { Quota: found } = applied ?? (await client.send(new GetAWSDefaultServiceQuotaCommand(input)))
    return found?.Value ?? new Error('no value')
  } catch (error) {
    return error as Error
  }
}

const count = (number: number): string => Math.ceil(number).toLocaleString('en')
