/** Part of grants.ts: environment variables and permissions of the archive of audit records, and of the records of disclosures. */
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type AwsResources, allow, allowDecryption, allowEncryption, type PortGrant } from './permissions.ts'

/** Start of the keys of the records of disclosures. */
export const DISCLOSURES_PREFIX = 'disclosures/'
/** Keys of the archived records. */
export const ARCHIVED_RECORDS = 'audit/*'

export const AUDIT_GRANTS: Readonly<Record<'audit-archive' | 'disclosures', PortGrant>> = {
  'audit-archive': (aws) => ({
    environment: { FHIR_AUDIT_BUCKET: aws.auditBucket!.bucketName },
    // The key of the bucket is a data key, which S3 decrypts for later writes.
    statements: [allow(['s3:PutObject'], [aws.auditBucket!.arnForObjects(ARCHIVED_RECORDS)]), allowDecryption(aws), allowEncryption(aws)],
  }),
  disclosures: (aws) => {
    const buckets = [aws.bucket, ...(aws.auditBucket === undefined ? [] : [aws.auditBucket])]
    const objects = buckets.map((bucket) => bucket.arnForObjects(`${DISCLOSURES_PREFIX}*`))
    return {
      environment: {
        FHIR_BUCKET: aws.bucket.bucketName,
        ...(aws.auditBucket === undefined ? {} : { FHIR_AUDIT_BUCKET: aws.auditBucket.bucketName }),
      },
      statements: [allow(['s3:PutObject'], objects), allowDecryption(aws), allowEncryption(aws)],
    }
  },
}

/**
 * Requests of Lambda itself, which has the role too. The stream also holds hashes of passwords and secrets, which Lambda filters out. The code
 * of the function could read them without this condition.
 * https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
 */
const BY_LAMBDA = { Null: { 'lambda:SourceFunctionArn': 'true' } }

/** Permits Lambda to read the stream of the state table for the function, and to store records that the function could not process. */
export const allowStateStreamReading = ({ stateTable, bucket }: AwsResources, streamArn: string): readonly PolicyStatement[] => [
  allow(['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'], [streamArn], BY_LAMBDA),
  allow(['dynamodb:ListStreams'], [`${stateTable.tableArn}/stream/*`]),
  allow(['s3:PutObject'], [bucket.arnForObjects('aws/lambda/*')]),
  allow(['s3:ListBucket'], [bucket.bucketArn]),
]
