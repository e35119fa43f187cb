/**
 * What CloudFront shows the API, so that nobody else is answered there and what it says of who asks can be believed. No template holds it: both
 * sides get it by a reference. https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-secretsmanager.html
 */
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'

export const ORIGIN_SECRET_HEADER = 'x-origin-secret'

const LENGTH = 64

export class OriginSecret extends Construct {
  readonly sent: string
  /** Also the one before: CloudFront goes on sending it for minutes. */
  readonly accepted: readonly string[]

  /** `number`: from 1 on; each next one is another secret. */
  constructor(scope: Construct, id: string, number: number, key: IKey) {
    super(scope, id)
    // Whoever deploys may use it by the policies of the account: the key's own stays as it is.
    const encryptionKey = Key.fromKeyArn(this, 'Key', key.keyArn)
    this.accepted = [number, number - 1].filter((each) => each > 0).map((each) => this.#secret(each, encryptionKey))
    this.sent = this.accepted[0]!
  }

  #secret(number: number, encryptionKey: IKey): string {
    const secret = new Secret(this, `Secret${number}`, {
      description: 'FHIR server: by which the API knows CloudFront',
      encryptionKey,
      generateSecretString: { passwordLength: LENGTH, excludePunctuation: true },
    })
    return secret.secretValue.unsafeUnwrap()
  }
}
