/**
 * A function as a resource of a stack: it answers to an address it is given, whatever happens, or the deployment would hang.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
 */
import { report } from './aws-log.ts'

export type CustomResourceEvent = {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly ResponseURL: string
  readonly StackId: string
  readonly RequestId: string
  readonly LogicalResourceId: string
  readonly PhysicalResourceId?: string
}

/** `deploy`: at creation and at each update. `remove`: at the deletion, which else leaves everything as it is. */
export const customResource =
  (deploy: () => Promise<void>, remove: () => Promise<void> = async () => undefined) =>
  async (event: CustomResourceEvent): Promise<void> => {
    const { RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId = LogicalResourceId } = event
    let answer: object = { Status: 'SUCCESS' }
    try {
      await (RequestType === 'Delete' ? remove() : deploy())
    } catch (error) {
      report(error, RequestId)
      answer = { Status: 'FAILED', Reason: `${(error as Error).name}: see the log of the function` }
    }
    const body = JSON.stringify({ ...answer, StackId, RequestId, LogicalResourceId, PhysicalResourceId })
    await fetch(ResponseURL, { method: 'PUT', body, headers: { 'content-type': '' } })
  }
