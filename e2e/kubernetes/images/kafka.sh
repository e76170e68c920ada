#!/bin/sh
# The conventions of the official image of Kafka: variables become properties by its own program for that, which fails
# where there is data already.
set -eu
export CLUSTER_ID="${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}"
said="$(/opt/kafka/bin/kafka-run-class.sh kafka.docker.KafkaDockerWrapper setup --default-configs-dir /etc/kafka/docker \
  --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config 2>&1)" || case "$said" in
  *'already formatted'*) ;;
  *) echo "$said" >&2; exit 1 ;;
esac
exec /opt/kafka/bin/kafka-run-class.sh kafka.Kafka /opt/kafka/config/server.properties
