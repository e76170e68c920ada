# The orchestrator as an image: one static program, no shell, no root.
#   docker build -t orchestra:VERSION .
# `cargo xtask dist` makes the same image without a container engine, and adds the licences of libraries.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base
WORKDIR /src
COPY . .
# For `orchestra version`: the commit and its date, which git does not tell here.
ARG ORCHESTRA_COMMIT
ARG SOURCE_DATE_EPOCH
# A static program needs no system below it. What runs programs of a machine is of no use in a cluster.
RUN cargo build --profile dist --locked -p orchestra --no-default-features --features kubernetes,template \
    && cp target/dist/orchestra /orchestra

FROM scratch
COPY --from=build /orchestra /orchestra
COPY LICENSE /usr/share/doc/orchestra/LICENSE
USER 65532:65532
EXPOSE 8443
ENTRYPOINT ["/orchestra"]
CMD ["serve", "--cluster"]
