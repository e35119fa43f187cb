/** Part of grants.ts: environment variables and permissions of the archive of audit records. */
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type AwsResources, allow, allowDecryption, allowEncryption, type PortGrant } from './permissions.ts'

/** Keys of the archived records. */
export const ARCHIVED_RECORDS = 'audit/*'

export const AUDIT_GRANTS: Readonly<Record<'audit-archive', PortGrant>> = {
  'audit-archive': (aws) => ({
    environment: { FHIR_AUDIT_BUCKET: aws.auditBucket!.bucketName },
    // The key of the bucket is a data key, which S3 decrypts for later writes.
    statements: [allow(['s3:PutObject'], [aws.auditBucket!.arnForObjects(ARCHIVED_RECORDS)]), allowDecryption(aws), allowEncryption(aws)],
  }),
}

/** Permits reading the stream of the state table, and storing records that the function could not process. */
export const allowStateStreamReading = ({ stateTable, bucket }: AwsResources, streamArn: string): readonly PolicyStatement[] => [
  allow(['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'], [streamArn]),
  allow(['dynamodb:ListStreams'], [`${stateTable.tableArn}/stream/*`]),
  allow(['s3:PutObject'], [bucket.arnForObjects('aws/lambda/*')]),
  allow(['s3:ListBucket'], [bucket.bucketArn]),
]
